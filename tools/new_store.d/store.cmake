holdfast_store(@name@)
