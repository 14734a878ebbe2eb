import pg from 'pg';

/** Creates a database on a server; returns its address. */
export async function createDatabase(serverUrl: string, name: string): Promise<string> {
  const client = new pg.Client({ connectionString: `${serverUrl}/postgres` });
  await client.connect();
  await client.query(`create database ${name}`);
  await client.end();
  return `${serverUrl}/${name}`;
}
