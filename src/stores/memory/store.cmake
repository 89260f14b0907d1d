holdfast_store(memory EMBEDDED SHARES ledger)
