holdfast_store(postgres
  SHARES net sql
  PACKAGES PostgreSQL OpenSSL
  TARGETS PostgreSQL::PostgreSQL OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG libpq libssl libcrypto
  SQL sql)
