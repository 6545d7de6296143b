// purpose: Which edition the server is: constraints of existence need the Enterprise Edition.
// columns: edition
CALL dbms.components() YIELD edition RETURN edition
