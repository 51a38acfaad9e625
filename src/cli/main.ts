#!/usr/bin/env node
try {
  await import('../node-version.ts')
} catch (error) {
  console.error(`error: ${(error as Error).message}`)
  process.exit(1)
}
const { run } = await import('./program.ts')
process.exitCode = await run(process.argv.slice(2))

// What a jobs file leaves open, such as a timer, does not keep the process.
setTimeout(() => process.exit(), 500).unref()
