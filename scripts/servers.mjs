/**
 * Gets the servers that the tests use: by the URL in an environment variable, from the programs on the machine, or, when
 * we are root on Debian, from its packages. Nothing is started here, nor by the packages.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import { howToGive, neededServers } from '../test/support/servers/needed.ts'

const aptGetProgram = '/usr/bin/apt-get'

/** Installs missing servers. Returns a sentence about those that are still missing, or null. */
export function getServers() {
  if (missing().length > 0 && isRootOnDebian()) install(missing())
  return missing().length > 0 ? howToGive(missing()) : null
}

function missing() {
  return neededServers.filter(({ variable, find }) => !process.env[variable] && find() === null)
}

function isRootOnDebian() {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version') && existsSync(aptGetProgram)
}

function install(servers) {
  console.log(`Installing ${servers.map((server) => server.name).join(' and ')} (apt-get)`)
  const putBack = keepServicesStill()
  // An interrupted install must put back what was changed for it; apt-get gets the signal too, and ends.
  let interrupted = false
  const interrupt = () => (interrupted = true)
  process.on('SIGINT', interrupt)
  process.on('SIGTERM', interrupt)
  try {
    const packages = servers.map((server) => server.package)
    // An update may fail for one source among many; whether the packages can be had is for the install to say.
    aptGet('update')
    const { status, output } = aptGet('install', '-y', '--no-install-recommends', ...packages)
    if (status !== 0) console.log(output)
    if (packages.includes('pgbouncer')) disable('pgbouncer')
  } finally {
    putBack()
    process.off('SIGINT', interrupt)
    process.off('SIGTERM', interrupt)
  }
  if (interrupted) process.exit(130)
}

function aptGet(...args) {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const { status, stdout, stderr } = spawnSync(aptGetProgram, ['-q', '-o', 'DPkg::Lock::Timeout=300', ...args], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  })
  return { status, output: `${stdout}${stderr}` }
}

/**
 * Debian's packages start what they bring, and make a cluster of PostgreSQL. Two files prevent it while we install. The
 * first is in force only as long as our process runs, in case we are killed before it is removed.
 */
function keepServicesStill() {
  const policy = `#!/bin/sh\n# While Punctual's npm test (${process.pid}) installs packages, they start no services.\nkill -0 ${process.pid} 2>/dev/null && exit 101\nexit 0\n`
  const made = [
    make('/usr/sbin/policy-rc.d', policy, 0o755),
    make('/etc/postgresql-common/createcluster.d/punctual-test.conf', 'create_main_cluster = false\n', 0o644),
  ]
  return () => {
    for (const file of made) if (file !== null) rmSync(file, { force: true })
  }
}

/** Makes the file and gives its name; null when there is one already, which stays as it is. */
function make(file, text, mode) {
  if (existsSync(file)) return null
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text, { mode })
  return file
}

/** A service that was kept from starting now would start with the machine. */
function disable(service) {
  if (existsSync('/run/systemd/system')) spawnSync('systemctl', ['disable', '--quiet', service], { stdio: 'ignore' })
}
