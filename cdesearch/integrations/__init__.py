"""How do other libraries use cdesearch? Each module needs the library that it is named after."""
