import { Client } from 'pg'
import { onTestFinished } from 'vitest'

/** A transaction of a caller's, on a connection that is closed with the test. */
export async function beginTransaction(url: string, isolation = 'READ COMMITTED'): Promise<Client> {
  const client = new Client({ connectionString: url })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`BEGIN ISOLATION LEVEL ${isolation}`)
  return client
}
