import { Client } from 'pg'

/** Runs one statement on a new connection. */
export async function queryOnce<Row extends object>(url: string, text: string, values?: unknown[]): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url })
  // A server that stops sends an error to its clients; without a listener it would end this process.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row & Record<string, unknown>>(text, values)).rows
  } finally {
    await client.end()
  }
}
