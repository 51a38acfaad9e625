/**
 * `npm test`: the checks, then all tests. `npm test -- test/model/retry.test.ts` runs that file alone, without the checks;
 * other arguments go to vitest too. The last line is "N passed, N failed", where a check counts as one test.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import process from 'node:process'
import { build } from './build.mjs'
import { runChecks } from './check.mjs'
import { getServers } from './servers.mjs'
import { tool } from './tool.mjs'

const args = process.argv.slice(2)
const checks = args.length === 0 ? await runChecks() : buildOnly()
// Without a server, the tests that need none still tell something; those that need it fail and say the same.
const lack = getServers()
if (lack !== null) console.error(lack)
const tests = runTests(args)

const failed = [...checks.failed.map((name) => `check: ${name}`), ...(lack === null ? [] : [`servers: ${lack}`]), ...tests.failed]
if (failed.length > 0) console.log(`\nFailed:\n${failed.map((name) => `  ${name}`).join('\n')}\n`)
console.log(`${checks.passed + tests.passed} passed, ${failed.length} failed`)
process.exit(failed.length > 0 ? 1 : 0)

/** Tests that start processes use dist; the others do not mind when it does not build. */
function buildOnly() {
  const { ok, output } = build()
  if (!ok) console.log(`${output}\ndist does not build, so that tests which start processes may fail.`)
  return { passed: 0, failed: [] }
}

function runTests(args) {
  const folder = mkdtempSync(join(tmpdir(), 'punctual-test-'))
  const report = join(folder, 'report.json')
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`]
  // Processes that tests start compile the sources once for all of them: each then begins with a third of the CPU.
  const env = { NODE_COMPILE_CACHE: join(folder, 'compiled'), ...process.env }
  const { status } = spawnSync(process.execPath, [tool('vitest'), 'run', ...reporters, ...args], { stdio: 'inherit', env })
  const result = read(report)
  rmSync(folder, { recursive: true, force: true })
  // An error outside any test, or a crash of the runner, fails the run although no test failed.
  if (status !== 0 && result.failed.length === 0) result.failed.push(`vitest: exit code ${status}`)
  return result
}

function read(report) {
  let files
  try {
    files = JSON.parse(readFileSync(report, 'utf8')).testResults
  } catch {
    return { passed: 0, failed: [] }
  }
  const passed = files.flatMap((file) => file.assertionResults).filter((test) => test.status === 'passed').length
  return { passed, failed: files.flatMap(failuresIn) }
}

function failuresIn(file) {
  const name = relative('.', file.name)
  const tests = file.assertionResults.filter((test) => test.status === 'failed').map((test) => `${name}: ${test.fullName}`)
  return tests.length === 0 && file.status === 'failed' ? [`${name}: could not be run`] : tests
}
