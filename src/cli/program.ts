import { Command, CommanderError } from 'commander'
import { version } from '../engine/node/version.ts'
import { PunctualError } from '../errors.ts'
import { addBackfill } from './commands/backfill.ts'
import { addCancel } from './commands/cancel.ts'
import { addDead } from './commands/dead.ts'
import { addEnqueue } from './commands/enqueue.ts'
import { addExplain } from './commands/explain.ts'
import { addJobs } from './commands/jobs.ts'
import { addMigrate } from './commands/migrate.ts'
import { addNext } from './commands/next.ts'
import { addNodes } from './commands/nodes.ts'
import { addOccurrences } from './commands/occurrences.ts'
import { addPause } from './commands/pause.ts'
import { addReplay } from './commands/replay.ts'
import { addResume } from './commands/resume.ts'
import { addServe } from './commands/serve.ts'
import { addTrigger } from './commands/trigger.ts'
import { printError } from './print.ts'

/** In the order in which the help lists them. */
const commands = [
  addServe,
  addNext,
  addJobs,
  addOccurrences,
  addExplain,
  addNodes,
  addEnqueue,
  addTrigger,
  addCancel,
  addPause,
  addResume,
  addReplay,
  addBackfill,
  addDead,
  addMigrate,
]

const exit = { refused: 1, usage: 2 } as const

/** Runs the command line and returns its exit code: 0 done, 1 refused or failed, 2 not understood. */
export async function run(args: readonly string[]): Promise<number> {
  try {
    await program().parseAsync(args, { from: 'user' })
    return 0
  } catch (error) {
    // Commander has printed its message already; asking for help or the version is no failure.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exit.usage
    printError(error instanceof PunctualError ? error : asFailure(error), args.includes('--json'))
    return exit.refused
  }
}

function program(): Command {
  const root = new Command('punctual')
    .description('A scheduler that accounts for every run.')
    .version(version)
    .exitOverride()
    .showHelpAfterError('(add --help for what is allowed)')
    .addHelpText('after', '\nExample:\n  $ punctual serve --store sqlite:./punctual.db --jobs ./jobs.ts')
  for (const add of commands) add(root)
  return root
}

function asFailure(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}
