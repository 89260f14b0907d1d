holdfast_store(memcached
  SHARES net scripted
  PACKAGES OpenSSL
  TARGETS OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG libssl libcrypto)
