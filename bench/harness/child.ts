// A process that calls one function of one module and sends back the result: no contestant has the heap, the compiled
// code or the timers of another.
import type { Command, Reply } from './in-child.ts'

process.on('disconnect', () => process.exit(1))
process.once('message', ({ module, name, args }: Command) => {
  call(module, name, args).then(
    (value) => reply({ kind: 'returned', value }, 0),
    (error: unknown) =>
      reply({ kind: 'threw', error: error instanceof Error ? (error.stack ?? error.message) : String(error) }, 1),
  )
})

async function call(module: string, name: string, args: readonly unknown[]): Promise<unknown> {
  const exported = (await import(module)) as Record<string, (...args: unknown[]) => unknown>
  const measure = exported[name]
  if (!measure) throw new Error(`${module} exports no ${name}`)
  return measure(...args, gate)
}

/** Tells the parent that everything is set up, and waits for its word to begin. */
function gate(): Promise<void> {
  return new Promise((resolve) => {
    process.once('message', () => resolve())
    process.send?.({ kind: 'ready' } satisfies Reply)
  })
}

function reply(message: Reply, code: number): void {
  process.send?.(message, () => process.exit(code))
}
