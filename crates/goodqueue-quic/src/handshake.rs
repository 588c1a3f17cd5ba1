//! The flights of a handshake without cryptography.
//!
//! | flight | packets | bytes | instead of |
//! |---|---|---|---|
//! | client hello | Initial | [`CLIENT_HELLO`] or its parameters | ClientHello |
//! | server hello | Initial | [`SERVER_HELLO`] | ServerHello |
//! | certificates | Handshake | [`CERTIFICATES`] or its parameters | EncryptedExtensions, Certificate, CertificateVerify |
//! | finished | Handshake | [`FINISHED`] | Finished, of both sides |
//!
//! A message is a kind of one byte, a length of three bytes and that number of bytes. Hello of the
//! client and certificates begin with the transport parameters behind their length in two bytes.

use std::fmt;

/// Bytes of a client's hello: a ClientHello with one key share, a name and ALPN takes about this
/// number. Assumed.
pub const CLIENT_HELLO: usize = 280;
/// Bytes of a server's hello with one key share. Assumed.
pub const SERVER_HELLO: usize = 90;
/// Bytes of a server's extensions, its certificates and the signature: two certificates with
/// elliptic curves take about this number. Assumed.
pub const CERTIFICATES: usize = 2_200;
/// Bytes of a Finished message with SHA-256 (RFC 8446 §4.4.4).
pub const FINISHED: usize = 36;

/// One side of a handshake.
#[derive(Debug)]
pub(crate) struct Handshake {
    is_client: bool,
    step: Step,
    /// Own transport parameters, encoded.
    parameters: Vec<u8>,
    /// Bytes of a message that is not complete yet.
    received: Vec<u8>,
    /// Transport parameters of the other side, encoded.
    pub(crate) peer: Option<Vec<u8>>,
    /// True once the other side has finished.
    pub(crate) is_done: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    /// The client writes its hello.
    ClientBegins,
    /// The server writes its hello.
    ServerHello,
    /// The server writes certificates and Finished.
    ServerFinishes,
    /// The client takes the keys of Handshake packets.
    ClientKeys,
    /// The client writes Finished.
    ClientFinishes,
    /// The other side has to write.
    Waits,
}

/// A message that is not allowed in this place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unexpected;

impl fmt::Display for Unexpected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a message of the null handshake is malformed or out of order")
    }
}

impl Handshake {
    pub(crate) const fn new(is_client: bool, parameters: Vec<u8>) -> Self {
        let step = if is_client { Step::ClientBegins } else { Step::Waits };
        Self { is_client, step, parameters, received: Vec::new(), peer: None, is_done: false }
    }

    /// Appends the next message, if it is this side's turn. Returns true if the keys of the next
    /// sort of packets are ready.
    pub(crate) fn write(&mut self, out: &mut Vec<u8>) -> bool {
        // A stack asks until nothing comes, so each message may be written only once.
        let step = std::mem::replace(&mut self.step, Step::Waits);
        match step {
            Step::ClientBegins => message(out, Kind::ClientHello, &self.parameters, CLIENT_HELLO),
            Step::ServerHello => {
                message(out, Kind::ServerHello, &[], SERVER_HELLO);
                self.step = Step::ServerFinishes;
            }
            Step::ServerFinishes => {
                message(out, Kind::Certificates, &self.parameters, CERTIFICATES);
                message(out, Kind::Finished, &[], FINISHED);
            }
            Step::ClientFinishes => message(out, Kind::Finished, &[], FINISHED),
            // The server's next flight completes the handshake.
            Step::ClientKeys | Step::Waits => {}
        }
        !matches!(step, Step::ClientBegins | Step::Waits)
    }

    /// Takes bytes of the other side. Returns true if they complete its transport parameters.
    pub(crate) fn read(&mut self, bytes: &[u8]) -> Result<bool, Unexpected> {
        self.received.extend_from_slice(bytes);
        let knew = self.peer.is_some();
        while let Some((head, rest)) = self.received.split_first_chunk::<4>() {
            let [kind, length @ ..] = *head;
            // TLS has lengths of 24 bits (RFC 8446 §4).
            let length = usize::from(length[0]) << 16 | usize::from(length[1]) << 8 | usize::from(length[2]);
            // A CRYPTO frame may end within a message (RFC 9000 §19.6).
            let Some(body) = rest.get(..length) else { break };
            let body = body.to_vec();
            self.received.drain(..4 + length);
            self.take(kind, &body)?;
        }
        Ok(!knew && self.peer.is_some())
    }

    fn take(&mut self, kind: u8, body: &[u8]) -> Result<(), Unexpected> {
        match (Kind::from_number(kind), self.is_client, self.peer.is_some(), self.is_done) {
            (Some(Kind::ClientHello), false, false, _) => {
                self.peer = Some(parameters(body)?);
                self.step = Step::ServerHello;
            }
            (Some(Kind::ServerHello), true, false, _) => self.step = Step::ClientKeys,
            // Parameters come once, so a second message of this kind is unexpected.
            (Some(Kind::Certificates), true, false, _) => self.peer = Some(parameters(body)?),
            // The server's keys were ready when it wrote its own message.
            (Some(Kind::Finished), false, true, false) => self.is_done = true,
            (Some(Kind::Finished), true, true, false) => {
                self.is_done = true;
                self.step = Step::ClientFinishes;
            }
            _ => return Err(Unexpected),
        }
        Ok(())
    }
}

/// Kinds of messages, with the numbers of TLS 1.3 (RFC 8446 §4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    ClientHello = 1,
    ServerHello = 2,
    Certificates = 11,
    Finished = 20,
}

impl Kind {
    fn from_number(number: u8) -> Option<Self> {
        let all = [Self::ClientHello, Self::ServerHello, Self::Certificates, Self::Finished];
        all.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// Appends a message of `size` bytes, or of more if the parameters need them.
fn message(out: &mut Vec<u8>, kind: Kind, parameters: &[u8], size: usize) {
    // The size includes the kind and the length of the message, the body also the length of the
    // parameters.
    let body = (size - 4).max(parameters.len() + 2);
    let [.., a, b, c] = body.to_be_bytes();
    out.extend_from_slice(&[kind as u8, a, b, c]);
    let end = out.len() + body;
    // A stack's parameters take far less than 64 kB, so the fallback is never needed.
    out.extend_from_slice(&u16::try_from(parameters.len()).unwrap_or(u16::MAX).to_be_bytes());
    out.extend_from_slice(parameters);
    // Zeros take the place of keys, certificates and signatures.
    out.resize(end, 0);
}

/// Returns the transport parameters in a message.
fn parameters(body: &[u8]) -> Result<Vec<u8>, Unexpected> {
    let (length, rest) = body.split_first_chunk::<2>().ok_or(Unexpected)?;
    let length = usize::from(u16::from_be_bytes(*length));
    rest.get(..length).map(<[u8]>::to_vec).ok_or(Unexpected)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Passes what `from` writes to `to`, one byte at a time; returns the bytes and the times at
    /// which keys were ready.
    fn pass(from: &mut Handshake, to: &mut Handshake) -> (usize, usize) {
        let mut bytes = Vec::new();
        let mut keys = 0;
        while from.step != Step::Waits {
            keys += usize::from(from.write(&mut bytes));
        }
        bytes.chunks(1).for_each(|byte| assert!(to.read(byte).is_ok()));
        (bytes.len(), keys)
    }

    #[test]
    fn a_handshake_takes_three_flights_and_exchanges_the_parameters() {
        let mut client = Handshake::new(true, vec![1, 2, 3]);
        let mut server = Handshake::new(false, vec![4; 3_000]);
        assert_eq!(pass(&mut client, &mut server), (CLIENT_HELLO, 0));
        assert_eq!(server.peer.as_deref(), Some(&[1, 2, 3][..]));
        // 3000 bytes of parameters do not fit in CERTIFICATES. Their message has a head of 4 bytes
        // and their length in 2.
        assert_eq!(pass(&mut server, &mut client), (SERVER_HELLO + 3_006 + FINISHED, 2));
        assert!(client.is_done && !server.is_done);
        assert_eq!(pass(&mut client, &mut server), (FINISHED, 1));
        assert!(server.is_done && client.peer == Some(vec![4; 3_000]));
    }

    #[test]
    fn messages_out_of_order_and_unknown_ones_are_refused() {
        // Finished of a client that has said nothing yet.
        let finished = [20, 0, 0, 0];
        assert_eq!(Handshake::new(false, Vec::new()).read(&finished), Err(Unexpected));
        assert_eq!(Handshake::new(true, Vec::new()).read(&[9, 0, 0, 0]), Err(Unexpected));
        // Parameters of nine bytes in a hello of three.
        assert_eq!(Handshake::new(false, Vec::new()).read(&[1, 0, 0, 3, 0, 9, 0]), Err(Unexpected));
        assert_eq!(Handshake::new(false, Vec::new()).read(&[1, 0, 0]), Ok(false), "not complete yet");
    }
}
