// The rates of the central bank, as its web service publishes them: GET /api/exchangerates/tables/A?format=json.
import { z } from 'zod'

const tables = z
  .array(
    z.object({
      effectiveDate: z.iso.date(),
      rates: z.array(z.object({ code: z.string().length(3), mid: z.number().positive() })).min(1),
    }),
  )
  .length(1)

export interface RateTable {
  readonly day: string
  readonly rates: readonly { readonly code: string; readonly mid: number }[]
}

export async function fetchRates(source: string, signal: AbortSignal): Promise<RateTable> {
  const response = await fetch(new URL('/api/exchangerates/tables/A?format=json', source), { signal })
  if (!response.ok) throw new Error(`The rates could not be fetched: ${response.status}`)
  const [table] = tables.parse(await response.json())
  if (!table) throw new Error('The answer has no table')
  return { day: table.effectiveDate, rates: table.rates }
}
