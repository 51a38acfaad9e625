/**
 * Makes the work tree ready, then runs the script it is given on Node 24: `node scripts/setup.mjs scripts/test.mjs …`.
 * It runs before node_modules exists and on the Node.js of the machine, so it is plain JavaScript for Node 20.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import process from 'node:process'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const bin = join(root, 'node_modules', '.bin')
const node24 = join(root, 'node_modules', 'node', 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
const stamp = join(root, 'node_modules', '.punctual', 'installed')

process.chdir(root)
install()
const [script, ...args] = process.argv.slice(2)
if (script) run(script, args)

/** Installs when package-lock.json is not the one last installed from. */
function install() {
  const wanted = createHash('sha256').update(readFileSync('package-lock.json')).digest('hex')
  if (existsSync(node24) && existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  console.log('Installing dependencies (npm ci)')
  const { status } = npm(['ci', '--no-audit', '--no-fund', '--loglevel=error'])
  if (status !== 0) process.exit(status ?? 1)
  if (!existsSync(node24)) {
    console.error(
      "npm ci left no Node 24 in node_modules/node: the install script of the package 'node' did not run. See allowScripts in package.json.",
    )
    process.exit(1)
  }
  mkdirSync(join(stamp, '..'), { recursive: true })
  writeFileSync(stamp, wanted)
}

/** Runs the npm that runs us, on the Node.js it runs on, because `npm ci` takes away the one in node_modules. */
function npm(args) {
  const { npm_execpath: cli, npm_node_execpath: node } = process.env
  if (cli && node && !node.startsWith(root)) return spawnSync(node, [cli, ...args], { stdio: 'inherit' })
  return spawnSync('npm', args, {
    stdio: 'inherit',
    shell: process.platform === 'win32',
    env: { ...process.env, PATH: pathWithout(bin) },
  })
}

function pathWithout(folder) {
  return process.env.PATH.split(delimiter)
    .filter((entry) => entry !== folder)
    .join(delimiter)
}

/** Hands over to the script: its output, its exit code, and the signals we get are its own. */
function run(script, args) {
  const PATH = [join(node24, '..'), bin, process.env.PATH].join(delimiter)
  const child = spawn(node24, [script, ...args], { stdio: 'inherit', env: { ...process.env, PATH } })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1)
  })
}
