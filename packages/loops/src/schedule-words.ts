import type { ScheduleTimes } from './schedule.ts'

/** The times as text, such as `Monday to Friday at 06:00 (Europe/Berlin)`. Rare cron fields are shown unchanged. */
export function timesInWords(when: ScheduleTimes): string {
  if (when.kind === 'at') return 'once'
  if (when.kind === 'every') return `every ${spanOf(when.minutes)}`
  return `${cronWords(when.cron)} (${when.timeZone})`
}

function spanOf(minutes: number): string {
  const [unit, count] =
    minutes % 1440 === 0
      ? ['day', minutes / 1440]
      : minutes % 60 === 0
        ? ['hour', minutes / 60]
        : ['minute', minutes]
  return count === 1 ? `${unit}` : `${count} ${unit}s`
}

function cronWords(cron: string): string {
  const text = cron.trim().toLowerCase()
  const fields = (NICKNAMES[text] ?? text).split(/\s+/)
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields
  const rare = `cron ${cron.trim()}`
  if (fields.length !== 5 || month !== '*' || (day !== '*' && weekday !== '*')) return rare
  const step = /^\*\/(\d+)$/
  const isEveryDay = day === '*' && weekday === '*'
  if (isEveryDay && hour === '*') {
    if (minute === '*') return 'every minute'
    const each = step.exec(minute)?.[1]
    // A step that does not divide the hour restarts in each one.
    if (each !== undefined && 60 % Number(each) === 0) return `every ${spanOf(Number(each))}`
    return isNumber(minute, 59) ? `every hour at :${pad(minute)}` : rare
  }
  const hours = step.exec(hour)?.[1]
  if (isEveryDay && hours !== undefined && 24 % Number(hours) === 0 && isNumber(minute, 59))
    return `every ${spanOf(Number(hours) * 60)} at :${pad(minute)}`
  const times = hour.split(',')
  if (!isNumber(minute, 59) || !times.every(one => isNumber(one, 23))) return rare
  const at = `at ${listed(times.map(one => `${pad(one)}:${pad(minute)}`))}`
  if (isEveryDay) return `every day ${at}`
  if (weekday === '*') return isNumber(day, 31) ? `on day ${Number(day)} of every month ${at}` : rare
  const days = weekdayWords(weekday)
  return days === undefined ? rare : `${days} ${at}`
}

function weekdayWords(field: string): string | undefined {
  const range = /^(\w+)-(\w+)$/.exec(field)
  const [from, to] = [range?.[1], range?.[2]].map(one => (one === undefined ? undefined : weekdayOf(one)))
  if (from !== undefined && to !== undefined) return `${from} to ${to}`
  const days = field.split(',').map(weekdayOf)
  const known = days.flatMap(day => day ?? [])
  if (known.length < days.length) return undefined
  return known.length === 1 ? `every ${known[0]}` : listed(known)
}

function weekdayOf(word: string): string | undefined {
  if (isNumber(word, 7)) return WEEKDAYS[Number(word) % 7]
  return word.length === 3 ? WEEKDAYS.find(day => day.toLowerCase().startsWith(word)) : undefined
}

function listed(words: string[]): string {
  const last = words.at(-1) ?? ''
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`
}

function isNumber(text: string, max: number): boolean {
  return /^\d{1,2}$/.test(text) && Number(text) <= max
}

function pad(text: string): string {
  return text.padStart(2, '0')
}

const WEEKDAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday']
const NICKNAMES: Record<string, string> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
}
