# What CI runs.
check:
    make test

# What ruff can mend by itself.
fix:
    make fix
