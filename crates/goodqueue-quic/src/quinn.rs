//! Endpoints of quinn-proto without encryption.

use quinn_proto::crypto::{AeadKey, HandshakeTokenKey};

use crate::session::null_session;

null_session!(quinn_proto, &ConnectionId, Arc<Self>, std::convert::identity);

fn refused(reason: String) -> TransportError {
    TransportError { code: TransportErrorCode::PROTOCOL_VIOLATION, frame: None, reason }
}

impl HandshakeTokenKey for NullKey {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(*self)
    }
}

impl AeadKey for NullKey {
    fn seal(&self, data: &mut Vec<u8>, additional: &[u8]) -> Result<(), CryptoError> {
        let tag = tag::tag_of(0, &[additional, data]);
        data.extend_from_slice(&tag);
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], additional: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        let length = self.0.open(0, additional, data).ok_or(CryptoError)?;
        data.get_mut(..length).ok_or(CryptoError)
    }
}
