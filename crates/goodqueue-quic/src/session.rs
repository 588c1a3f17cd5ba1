//! The null session: what endpoints of both stacks share. noq-proto is a fork of quinn-proto, so
//! their traits have the same names, and few of their methods differ.

/// Writes the configurations of endpoints of a stack, and its session without cryptography.
///
/// * `$stack`: the crate.
/// * `$identifier`: how its traits take connection identifiers.
/// * `$this`: how sessions are started: by a shared or a borrowed configuration.
/// * `$share`: turns a function that makes identifiers into what `cid_generator` takes.
/// * `$path`: the type of a path's number, if packets are protected for each path.
///
/// The invoking module has a function `refused`, and the keys of tokens, which differ more.
macro_rules! null_session {
    ($stack:ident, $identifier:ty, $this:ty, $share:path $(, $path:ty)?) => {
        use std::any::Any;
        use std::sync::Arc;
        use std::sync::atomic::{AtomicU64, Ordering};
        use std::time::Duration;

        use bytes::BytesMut;
        use goodqueue::hash::mix_64;
        use $stack::crypto::{
            self, CryptoError, ExportKeyingMaterialError, HeaderKey, HmacKey, KeyPair, Keys, PacketKey,
            Session, UnsupportedVersion,
        };
        use $stack::transport_parameters::TransportParameters;
        use $stack::{
            ClientConfig, ConnectError, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig,
            Side, TransportError, TransportErrorCode,
        };

        use crate::handshake::Handshake;
        use crate::tag::{self, Protection};

        /// Returns the configuration of an endpoint whose random numbers depend on `seed` alone.
        #[must_use]
        pub fn endpoint_config(seed: u64) -> EndpointConfig {
            let mut bytes = [0; 32];
            for (index, word) in bytes.chunks_mut(8).enumerate() {
                // The index is hashed too, because neighbouring seeds would otherwise share words.
                word.copy_from_slice(&mix_64(seed ^ mix_64(index as u64)).to_le_bytes());
            }
            let mut config = EndpointConfig::new(Arc::new(NullKey(Protection::Checked)));
            config.rng_seed(Some(bytes));
            // The stack would draw identifiers from the generator of the thread.
            let generator = move || Box::new(Identifiers(mix_64(seed))) as Box<dyn ConnectionIdGenerator>;
            config.cid_generator($share(generator));
            config
        }

        /// Returns the configuration of a client without encryption. Connections whose
        /// configurations have different seeds have different identifiers.
        #[must_use]
        pub fn client_config(seed: u64) -> ClientConfig {
            protected_client_config(seed, Protection::Checked)
        }

        pub(crate) fn protected_client_config(seed: u64, protection: Protection) -> ClientConfig {
            let mut config = ClientConfig::new(Arc::new(NullCrypto(protection)));
            // Identifiers only have to differ, and no other memory depends on their order:
            // `Relaxed` is enough.
            let count = AtomicU64::new(0);
            config.initial_dst_cid_provider(Arc::new(move || {
                // The complement keeps these identifiers apart from those of an endpoint with the
                // same seed.
                Identifiers(mix_64(!seed ^ count.fetch_add(1, Ordering::Relaxed))).generate_cid()
            }));
            config
        }

        /// Returns the configuration of a server without encryption.
        #[must_use]
        pub fn server_config() -> ServerConfig {
            protected_server_config(Protection::Checked)
        }

        pub(crate) fn protected_server_config(protection: Protection) -> ServerConfig {
            ServerConfig::new(Arc::new(NullCrypto(protection)), Arc::new(NullKey(protection)))
        }

        /// Makes connection identifiers of eight bytes, as the stack does, from a counter.
        #[derive(Debug)]
        struct Identifiers(u64);

        impl ConnectionIdGenerator for Identifiers {
            fn generate_cid(&mut self) -> ConnectionId {
                // `mix_64` maps different numbers to different ones, so no identifier repeats.
                self.0 = self.0.wrapping_add(1);
                ConnectionId::new(&mix_64(self.0).to_be_bytes())
            }

            fn cid_len(&self) -> usize {
                8
            }

            fn cid_lifetime(&self) -> Option<Duration> {
                None
            }
        }

        /// The cryptography of both sides: none.
        #[derive(Debug)]
        struct NullCrypto(Protection);

        impl crypto::ClientConfig for NullCrypto {
            fn start_session(
                self: $this,
                _: u32,
                _: &str,
                parameters: &TransportParameters,
            ) -> Result<Box<dyn Session>, ConnectError> {
                Ok(Box::new(NullSession::new(Side::Client, parameters, self.0)))
            }
        }

        impl crypto::ServerConfig for NullCrypto {
            fn initial_keys(&self, _: u32, _: $identifier) -> Result<Keys, UnsupportedVersion> {
                Ok(keys(self.0))
            }

            fn retry_tag(&self, _: u32, original: $identifier, packet: &[u8]) -> [u8; 16] {
                tag::tag_of(0, &[&original[..], packet])
            }

            fn start_session(self: $this, _: u32, parameters: &TransportParameters) -> Box<dyn Session> {
                Box::new(NullSession::new(Side::Server, parameters, self.0))
            }
        }

        /// A session that exchanges transport parameters and nothing else.
        #[derive(Debug)]
        struct NullSession {
            side: Side,
            handshake: Handshake,
            protection: Protection,
        }

        impl NullSession {
            fn new(side: Side, parameters: &TransportParameters, protection: Protection) -> Self {
                let mut encoded = Vec::new();
                parameters.write(&mut encoded);
                Self { side, handshake: Handshake::new(side.is_client(), encoded), protection }
            }
        }

        impl Session for NullSession {
            fn initial_keys(&self, _: $identifier, _: Side) -> Keys {
                keys(self.protection)
            }

            fn handshake_data(&self) -> Option<Box<dyn Any>> {
                self.handshake.peer.is_some().then(|| Box::new(()) as Box<dyn Any>)
            }

            fn peer_identity(&self) -> Option<Box<dyn Any>> {
                None
            }

            // There is no 0-RTT data.
            fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
                None
            }

            fn early_data_accepted(&self) -> Option<bool> {
                None
            }

            fn is_handshaking(&self) -> bool {
                !self.handshake.is_done
            }

            fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
                self.handshake.read(bytes).map_err(|error| refused(error.to_string()))
            }

            fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
                let Some(peer) = &self.handshake.peer else { return Ok(None) };
                let read = TransportParameters::read(self.side, &mut peer.as_slice());
                read.map(Some).map_err(|error| refused(error.to_string()))
            }

            fn write_handshake(&mut self, bytes: &mut Vec<u8>) -> Option<Keys> {
                self.handshake.write(bytes).then(|| keys(self.protection))
            }

            fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
                // Stacks ask for the keys of the next update in advance, and panic without them.
                Some(keys(self.protection).packet)
            }

            fn is_valid_retry(&self, original: $identifier, header: &[u8], payload: &[u8]) -> bool {
                let whole = [header, payload].concat();
                let packet = whole.split_at_checked(whole.len().saturating_sub(tag::TAG));
                packet.is_some_and(|(packet, tag)| tag == tag::tag_of(0, &[&original[..], packet]))
            }

            fn export_keying_material(
                &self,
                _: &mut [u8],
                _: &[u8],
                _: &[u8],
            ) -> Result<(), ExportKeyingMaterialError> {
                // There is no secret from which keys could be derived.
                Err(ExportKeyingMaterialError)
            }
        }

        /// All keys are alike.
        #[derive(Clone, Copy, Debug)]
        struct NullKey(Protection);

        fn keys(protection: Protection) -> Keys {
            let key = || NullKey(protection);
            Keys {
                header: KeyPair { local: Box::new(key()), remote: Box::new(key()) },
                packet: KeyPair { local: Box::new(key()), remote: Box::new(key()) },
            }
        }

        impl HeaderKey for NullKey {
            // Header protection changes no size, so there is none.
            fn decrypt(&self, _: usize, _: &mut [u8]) {}

            fn encrypt(&self, _: usize, _: &mut [u8]) {}

            fn sample_size(&self) -> usize {
                tag::SAMPLE
            }
        }

        impl PacketKey for NullKey {
            fn encrypt(&self, $(_: $path,)? number: u64, packet: &mut [u8], header: usize) {
                self.0.seal(number, packet, header);
            }

            fn decrypt(&self, $(_: $path,)? number: u64, header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
                payload.truncate(self.0.open(number, header, payload).ok_or(CryptoError)?);
                Ok(())
            }

            fn tag_len(&self) -> usize {
                tag::TAG
            }

            fn confidentiality_limit(&self) -> u64 {
                tag::LIMITS[0]
            }

            fn integrity_limit(&self) -> u64 {
                tag::LIMITS[1]
            }
        }

        impl HmacKey for NullKey {
            fn sign(&self, data: &[u8], signature: &mut [u8]) {
                signature.copy_from_slice(&tag::tag_of(0, &[data]));
            }

            fn signature_len(&self) -> usize {
                tag::TAG
            }

            fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
                if signature == tag::tag_of(0, &[data]) { Ok(()) } else { Err(CryptoError) }
            }
        }
    };
}

pub(crate) use null_session;
