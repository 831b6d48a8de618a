"""How do other libraries use it? Each module needs the library that it is named after."""
