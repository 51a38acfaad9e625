import { Command, CommanderError } from 'commander'
import { version } from '../engine/node/version.ts'
import { PunctualError } from '../errors.ts'
import { addAudit } from './commands/audit.ts'
import { addBackfill } from './commands/backfill.ts'
import { addBackup } from './commands/backup.ts'
import { addCancel } from './commands/cancel.ts'
import { addCompletion } from './commands/completion.ts'
import { addConfig } from './commands/config.ts'
import { addDead } from './commands/dead.ts'
import { addDoctor } from './commands/doctor.ts'
import { addExplain } from './commands/explain.ts'
import { addInit } from './commands/init.ts'
import { addMigrate } from './commands/migrate.ts'
import { addNext } from './commands/next.ts'
import { addPause } from './commands/pause.ts'
import { addReplay } from './commands/replay.ts'
import { addResume } from './commands/resume.ts'
import { addServe } from './commands/serve.ts'
import { addTimers } from './commands/timers.ts'
import { applyConfig, type Config } from './config/config.ts'
import { addOperations } from './operation/commands.ts'
import { printError } from './print.ts'

/** In the order in which the help lists them. */
const commands = [
  addServe,
  addTimers,
  addNext,
  addExplain,
  addDoctor,
  addCancel,
  addPause,
  addResume,
  addReplay,
  addBackfill,
  addDead,
  addAudit,
  addMigrate,
  addBackup,
  addInit,
  addCompletion,
]

const helpGroups: readonly (readonly [title: string, names: readonly string[]])[] = [
  ['Run:', ['serve', 'timers']],
  [
    'Jobs and their work:',
    ['jobs', 'occurrences', 'enqueue', 'trigger', 'cancel', 'pause', 'resume', 'replay', 'backfill', 'dead'],
  ],
  ['Why and how:', ['explain', 'next', 'overview', 'timeline', 'figures', 'calendar', 'schedules', 'doctor']],
  ['Care:', ['nodes', 'tokens', 'audit', 'gate', 'operations', 'pauses', 'delete', 'prune', 'migrate', 'backup']],
  ['Set up:', ['init', 'config', 'completion']],
]

const exit = { refused: 1, usage: 2 } as const

/** Runs the command line and returns its exit code: 0 done, 1 refused or failed, 2 not understood. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    const root = await program(args)
    await root.parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its message already; asking for help or the version is no failure.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exit.usage
    printError(error instanceof PunctualError ? error : asFailure(error), args.includes('--json'))
    return exit.refused
  }
}

/** All commands, with the values of the configuration file as their defaults. */
async function program(args: readonly string[]): Promise<Command> {
  let config: Config = { path: null, values: {} }
  const isWhole = args.length === 0 || args.some((word) => ['--help', '-h', 'help', 'completion'].includes(word))
  // Help, completion and the version need no settings, and must work where one is wrong.
  const isBare = isWhole || args.includes('--version') || args.includes('-V')
  const root = allCommands(
    () => config,
    (word) => isWhole || args.includes(word),
  )
  if (!isBare) config = await applyConfig(root, configFlag(args))
  return root
}

/** Every command, without any value from outside; those of the words that are given are whole. */
export function allCommands(config: () => Config, isGiven: (word: string) => boolean = () => true): Command {
  const root = new Command('punctual')
    .description('A scheduler that accounts for every run.')
    .version(version)
    .exitOverride()
    .option('--config <file>', 'the configuration file; else punctual.config.ts of this folder, or PUNCTUAL_CONFIG')
    .showHelpAfterError('(add --help for what is allowed)')
    .addHelpText('after', '\nExample:\n  $ punctual serve --store sqlite:./punctual.db --jobs ./jobs.ts')
  for (const add of commands) add(root)
  addConfig(root, config)
  addOperations(root, isGiven)
  for (const command of root.commands)
    command.helpGroup(helpGroups.find(([, names]) => names.includes(command.name()))?.[0] ?? 'More:')
  return root
}

/** It is read before the other flags: it sets their defaults. */
function configFlag(args: readonly string[]): string | undefined {
  const at = args.indexOf('--config')
  return at < 0 ? args.find((word) => word.startsWith('--config='))?.slice('--config='.length) : args[at + 1]
}

function asFailure(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
