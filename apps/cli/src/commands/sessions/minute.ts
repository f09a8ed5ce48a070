/** `2026-02-07 10:11`, in UTC like everything that is kept. */
export function minute(time: string): string {
  return time.slice(0, 'YYYY-MM-DDTHH:MM'.length).replace('T', ' ')
}
