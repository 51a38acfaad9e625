import { Argument, type Command, Option } from 'commander'
import type { JobPatch } from '../../../client/job-commands.ts'
import type { SettingsOptions } from '../../../model/settings.ts'
import { parseSchedule } from '../../../schedule/parse-text.ts'
import { example, json } from '../../options.ts'
import { type ChangeFlags, change, changeOptions } from './change.ts'

interface UpdateFlags extends ChangeFlags {
  schedule?: string
  tz?: string
  payload?: unknown
  settings?: SettingsOptions
  enabled?: true
  disabled?: true
}

export function addJobsUpdate(jobs: Command): void {
  const command = jobs
    .command('update')
    .description('Change a job. The change wins over what code declares until it is reset.')
    .addArgument(new Argument('<job>', 'the name of the job'))
    .addOption(new Option('--schedule <text>', 'cron text, an ISO 8601 duration or interval, a rule, an instant, or none'))
    .addOption(new Option('--tz <zone>', 'the time zone of the schedule, such as Europe/Warsaw; else UTC'))
    .addOption(new Option('--payload <json>', 'what the handlers get').argParser(json))
    .addOption(new Option('--settings <json>', 'settings such as \'{"retry": {"max": 5}}\'').argParser(json))
    .addOption(new Option('--enabled', 'generate instants again').conflicts('disabled'))
    .addOption(new Option('--disabled', 'generate and record no instants'))
  changeOptions(command)
    .addHelpText(
      'after',
      example(
        'punctual jobs update report --schedule "0 8 * * *" --tz Europe/Oslo --update graceful --store sqlite:./punctual.db',
      ),
    )
    .action(async (job: string, { schedule, tz, payload, settings, enabled, disabled, ...flags }: UpdateFlags, self: Command) => {
      if (tz !== undefined && schedule === undefined) self.error('error: --tz goes with --schedule')
      const patch: JobPatch = {
        ...settings,
        ...(schedule !== undefined && { schedule: scheduleOf(schedule, tz) }),
        ...(payload !== undefined && { payload }),
        ...((enabled || disabled) && { enabled: enabled === true }),
      }
      if (Object.keys(patch).length === 0)
        self.error('error: say what to change: --schedule, --payload, --settings, --enabled or --disabled')
      await change(job, flags, (punctual, options) => punctual.update(job, patch, options))
    })
}

function scheduleOf(text: string, timezone: string | undefined) {
  return text === 'none' ? null : parseSchedule(text, timezone === undefined ? {} : { timezone })
}
