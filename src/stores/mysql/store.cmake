holdfast_store(mysql
  SHARES net sql
  PACKAGES MariaDBClient OpenSSL
  TARGETS MariaDBClient::MariaDBClient OpenSSL::SSL OpenSSL::Crypto
  PKG_CONFIG libmariadb libssl libcrypto
  SQL sql)
