import cronstrue from 'cronstrue'

/** A cron text in words. */
export function describeCron(schedule: { readonly text: string; readonly timezone: string }): string {
  const words = cronstrue.toString(schedule.text.trim(), { use24HourTimeFormat: true })
  return `${words} (${schedule.timezone})`
}

/** An interval in words. */
export function describeInterval(interval: { readonly text: string; readonly timezone: string }): string {
  return `Every ${interval.text} (${interval.timezone})`
}
