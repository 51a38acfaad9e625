import type { Command } from 'commander'
import { PunctualError } from '../../errors.ts'
import { connectionFlags } from '../connection-flags.ts'
import { diagnose, type Finding } from '../doctor.ts'
import { example, jsonOption, placeOptions } from '../options.ts'
import { counted, print, printJson, styled, visible } from '../print.ts'

const colours = { ok: 'green', warn: 'yellow', fail: 'red' } as const

export function addDoctor(root: Command): void {
  const command = root
    .command('doctor')
    .description('Check the store, its schema, the clock, the nodes and the jobs, and give advice.')
  for (const option of placeOptions()) command.addOption(option)
  command
    .addOption(jsonOption())
    .addHelpText('after', example('punctual doctor --store sqlite:./punctual.db'))
    .action(async ({ json }: { json?: true }) => {
      const findings = await diagnose(connectionFlags(command))
      if (json) printJson({ items: findings })
      else for (const finding of findings) print(line(finding))
      const failed = findings.filter(({ state }) => state === 'fail').length
      if (failed > 0)
        throw new PunctualError('config.invalid', `${failed} of ${counted(findings.length, 'check')} failed`, { failed })
    })
}

function line({ state, subject, message, advice }: Finding): string {
  const text = `${styled(colours[state], state.padEnd(4))}  ${subject.padEnd(9)} ${visible(message)}`
  return advice === null ? text : `${text}\n${' '.repeat(16)}${visible(advice)}`
}
