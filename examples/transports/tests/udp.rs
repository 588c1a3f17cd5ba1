//! A short transfer in real time. Nothing is asserted about its duration, which the machine
//! decides.

use goodqueue_link::Duplex;
use tokio::net::UdpSocket;
use transports::udp::relay;

#[tokio::test(flavor = "current_thread")]
async fn datagrams_cross_the_line_and_come_back_in_their_order() {
    let server = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let outside = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    let client = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
    client.connect(outside.local_addr().expect("bound")).await.expect("connected");
    let line = Duplex::from_text("10mbit delay 2ms [fq_codel]", 1).expect("valid");
    let line = tokio::spawn(relay(outside, server.local_addr().expect("bound"), line));
    tokio::spawn(async move {
        let mut buffer = [0; 2000];
        while let Ok((length, from)) = server.recv_from(&mut buffer).await {
            if server.send_to(&buffer[..length], from).await.is_err() {
                return;
            }
        }
    });
    for number in 0..20_u8 {
        client.send(&[number; 1000]).await.expect("sent");
    }
    let mut buffer = [0; 2000];
    for number in 0..20_u8 {
        let length = client.recv(&mut buffer).await.expect("received");
        assert_eq!(buffer[..length], [number; 1000]);
    }
    assert!(!line.is_finished(), "no socket failed");
}
