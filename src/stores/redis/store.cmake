holdfast_store(redis
  SHARES net
  PACKAGES Hiredis OpenSSL
  TARGETS Hiredis::hiredis OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG hiredis libssl libcrypto
  LUA scripts)
