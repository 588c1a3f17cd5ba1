//! Endpoints of noq-proto without encryption.

use noq_proto::PathId;
use noq_proto::crypto::HandshakeTokenKey;

use crate::session::null_session;

null_session!(noq_proto, ConnectionId, &Self, Arc::new, PathId);

fn refused(reason: String) -> TransportError {
    TransportError::new(TransportErrorCode::PROTOCOL_VIOLATION, reason)
}

impl HandshakeTokenKey for NullKey {
    fn seal(&self, nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        let tag = tag::tag_of(0, &[&nonce.to_le_bytes(), data]);
        data.extend_from_slice(&tag);
        Ok(())
    }

    fn open<'a>(&self, nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let length = self.0.open(0, &nonce.to_le_bytes(), data).ok_or(CryptoError)?;
        data.get(..length).ok_or(CryptoError)
    }
}
