//! Serves on 127.0.0.1, or at the address that is given.

use std::io;

fn main() -> io::Result<()> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8420".to_owned());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(&address).await?;
        println!("http://{}/runs", listener.local_addr()?);
        axum::serve(listener, goodqueue_server::app()).await
    })
}
