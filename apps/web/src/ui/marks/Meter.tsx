import './marks.css'

/** A native progress bar: its width is no inline style. */
export function Meter({ label, value, max }: { label: string; value: number; max: number }) {
  const tone = max > 0 && value / max >= 0.9 ? 'meter meter--full' : 'meter'
  return <progress className={tone} aria-label={label} value={Math.min(value, max)} max={max > 0 ? max : 1} />
}
