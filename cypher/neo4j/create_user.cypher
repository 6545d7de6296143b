// purpose: Make a user of the local server, in the database `system`.
// params: user: string, password: string
CREATE USER $user IF NOT EXISTS SET PASSWORD $password CHANGE NOT REQUIRED
