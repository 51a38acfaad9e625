#!/usr/bin/env node
// Nothing but this file runs before the check, so that an old Node.js is told so instead of failing on an import.
const [major = 0] = process.versions.node.split('.').map(Number)
if (major < 22) {
  console.error(`error: punctual needs Node.js 22.22.3 or later, or 24.15 or later; this is ${process.version}`)
  process.exit(1)
}
const { run } = await import('./program.ts')
process.exitCode = await run(process.argv.slice(2))

// What a jobs file leaves open, such as a timer, does not keep the process.
setTimeout(() => process.exit(), 500).unref()
