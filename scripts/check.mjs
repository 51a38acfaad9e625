/** `npm run check`: every check that is not a test, two at a time. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'
import { build } from './build.mjs'
import { pack } from './pack.mjs'
import { tool } from './tool.mjs'

const atOnce = 2

if (import.meta.main) {
  const { passed, failed } = await runChecks()
  console.log(`${passed} passed, ${failed.length} failed`)
  process.exit(failed.length > 0 ? 1 : 0)
}

/** Runs all checks, prints a line for each and the output of those that fail. */
export async function runChecks() {
  const folder = mkdtempSync(join(tmpdir(), 'punctual-pack-'))
  const queue = checks(folder)
  const total = queue.length
  const failed = []
  const worker = async () => {
    for (let check = queue.shift(); check; check = queue.shift()) {
      const started = performance.now()
      const { ok, output } = await check.run()
      console.log(`${ok ? '✓' : '✗'} ${check.name} (${Math.round(performance.now() - started)} ms)`)
      if (!ok) {
        console.log(output.trimEnd())
        failed.push(check.name)
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  rmSync(folder, { recursive: true, force: true })
  return { passed: total - failed.length, failed }
}

/** The packed tarball is checked last, by two tools; both wait for the build. */
function checks(folder) {
  let packed
  const tarball = () => (packed ??= pack(folder))
  return [
    { name: 'build', run: async () => build() },
    { name: 'types', run: () => run([tool('tsc'), '-p', 'tsconfig.json']) },
    { name: 'types of the dashboard', run: () => run([tool('tsc'), '-p', 'dashboard']) },
    { name: 'biome', run: () => run([tool('biome'), 'check', '--error-on-warnings']) },
    { name: 'import rule', run: () => run([tool('depcruise'), 'src', 'dashboard', '--config', '.dependency-cruiser.mjs']) },
    { name: 'import graph', run: () => run(['scripts/graph.mjs', '--check']) },
    { name: 'ports', run: () => run(['scripts/check-ports.mjs']) },
    { name: 'knip', run: () => run([tool('knip')]) },
    { name: 'size of the dashboard', run: () => onPackage(tarball, () => run(['scripts/check-size.mjs'])) },
    { name: 'publint', run: () => onPackage(tarball, (file) => run([tool('publint'), file, '--strict'])) },
    { name: 'attw', run: () => onPackage(tarball, (file) => run([tool('attw'), file, '--profile', 'esm-only'])) },
  ]
}

async function onPackage(tarball, check) {
  const { file, ok, output } = tarball()
  return ok ? check(file) : { ok, output }
}

function run(args) {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { maxBuffer: 64 * 2 ** 20 }, (error, stdout, stderr) => {
      resolve({ ok: error === null, output: stdout + stderr })
    })
  })
}
