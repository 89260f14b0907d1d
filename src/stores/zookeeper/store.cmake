holdfast_store(zookeeper
  SHARES net listed
  PACKAGES OpenSSL
  TARGETS OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG libssl libcrypto)
