# The one store that is made of another one's: its nodes are Redis servers, each alone.
if(NOT "redis" IN_LIST HOLDFAST_STORES)
  message(FATAL_ERROR "HOLDFAST_STORES names redlock, whose nodes are redis; name that as well")
endif()
holdfast_store(redlock
  SHARES net scripted redis
  PACKAGES Hiredis OpenSSL
  TARGETS Hiredis::hiredis OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG hiredis libssl libcrypto
  LUA scripts)
