import { Client } from 'pg'

/** One statement on a connection of its own. */
export async function queryOnce<Row extends object>(url: string, text: string, values?: unknown[]): Promise<readonly Row[]> {
  const client = new Client({ connectionString: url })
  // A server that goes away says so to whoever waits; without a listener it would also end our process.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query<Row & Record<string, unknown>>(text, values)).rows
  } finally {
    await client.end()
  }
}
