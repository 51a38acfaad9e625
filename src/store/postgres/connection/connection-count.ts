import pg from 'pg'

/** How many connections a server allows to users, and how many are open. */
export async function countConnections(url: string): Promise<{ readonly most: number; readonly used: number }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ most: number; used: number }>(
      `SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most,
        (SELECT count(*)::int FROM pg_stat_activity WHERE backend_type = 'client backend') AS used`,
    )
    return rows[0] as { most: number; used: number }
  } finally {
    await client.end()
  }
}
