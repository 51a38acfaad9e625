// TanStack Query on signals. Its own binding for Preact does not accept Preact 11 (docs/decisions).
import { signal, useSignal } from '@preact/signals'
import { QueryClient, type QueryKey, QueryObserver, type QueryObserverResult } from '@tanstack/query-core'
import { useEffect, useMemo } from 'preact/hooks'
import { RequestError } from './request.ts'

/** A reader holds the page still: nothing is read by itself. */
export const isHeld = signal(false)

export const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 1000,
      gcTime: 300_000,
      retry: (count, error) => count < 2 && !(error instanceof RequestError && isFinal(error)),
      refetchOnWindowFocus: () => !isHeld.peek(),
      networkMode: 'always',
    },
  },
})
queries.mount()

/** Whether another try would end the same way. */
function isFinal({ status, code }: RequestError): boolean {
  return (status >= 400 && status < 500) || code === 'request.slow'
}

export interface QueryOptions<Data> {
  readonly key: QueryKey
  readonly read: (signal: AbortSignal) => Promise<Data>
  readonly isEnabled?: boolean
  /** Shows the last data of another key while the new one loads. */
  readonly keepsLast?: boolean
  /** The pace of reads besides those after changes; a function decides it by the last data, and must stay the same one. */
  readonly everyMs?: number | ((data: Data | undefined) => number | false)
}

/** The state of a query; the component is drawn again when it changes. */
export function useQuery<Data>(given: QueryOptions<Data>): QueryObserverResult<Data, Error> {
  const { key, read, isEnabled = true, keepsLast = false, everyMs } = given
  const options = queries.defaultQueryOptions<Data, Error, Data, Data, QueryKey>({
    queryKey: key,
    queryFn: ({ signal }) => read(signal),
    enabled: isEnabled,
    ...(keepsLast && { placeholderData: (last) => last }),
    ...(everyMs !== undefined && {
      refetchInterval: ({ state }) => !isHeld.peek() && (typeof everyMs === 'function' ? everyMs(state.data) : everyMs),
    }),
  })
  const observer = useMemo(() => new QueryObserver<Data, Error, Data, Data, QueryKey>(queries, options), [])
  const changes = useSignal(0)
  useEffect(() => observer.subscribe(() => void changes.value++), [observer])
  useEffect(() => observer.setOptions(options), [options.queryHash, isEnabled, everyMs])
  void changes.value
  return observer.getOptimisticResult(options)
}

/** Reads again whatever begins with one of these words, once it is on screen. */
export function refresh(...topics: readonly string[]): void {
  for (const topic of topics) void queries.invalidateQueries({ queryKey: [topic] })
}
