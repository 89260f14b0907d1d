holdfast_store(local EMBEDDED
  SHARES ledger
  PACKAGES LMDB
  TARGETS LMDB::LMDB
  PKG_CONFIG lmdb)
