import { type KeyboardEvent, type PointerEvent, useId, useState } from 'react'
import { formatCost, formatCount } from '../../ui/text/format.ts'
import { ScrollRegion } from '../../ui/virtual/ScrollRegion.tsx'
import { type Measure, type Series, scaleTop, timeText, totalAt } from './usage.logic.ts'

interface ChartProps {
  times: readonly string[]
  series: readonly Series[]
  measure: Measure
}

const HEIGHT = 200
const LINES = 5

/** Bars of each day or hour, stacked. One stop of the Tab key; the arrow keys go through the bars. */
export function UsageChart({ times, series, measure }: ChartProps) {
  const id = useId()
  const [at, setAt] = useState<number | null>(null)
  const totals = times.map((_, i) => totalAt(series, i))
  const top = scaleTop(Math.max(...totals.map(({ value }) => value), 0))
  const text = textIn(measure)
  const totalText = (i: number) => text(totals[i]?.value ?? 0, totals[i]?.isEstimate)
  const step = 100 / times.length
  const shown = at === null ? null : Math.min(at, times.length - 1)

  const onKeyDown = (event: KeyboardEvent) => {
    const from = shown ?? times.length
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, Home: 0, End: times.length - 1 }[event.key]
    if (event.key === 'Escape') setAt(null)
    if (to === undefined) return
    event.preventDefault()
    setAt(Math.max(0, Math.min(times.length - 1, to)))
  }
  const onPointer = (event: PointerEvent<HTMLDivElement>) => {
    const { left, width } = event.currentTarget.getBoundingClientRect()
    setAt(
      Math.max(0, Math.min(times.length - 1, Math.floor(((event.clientX - left) / width) * times.length))),
    )
  }

  return (
    <div className="chart">
      <svg className="chart__scale" height={HEIGHT + 24} aria-hidden="true">
        {gridLines().map(line => (
          <text key={line} x="100%" y={HEIGHT * (1 - line / LINES) + 12} textAnchor="end">
            {text((top * line) / LINES)}
          </text>
        ))}
      </svg>
      <div className="chart__plot">
        <div
          className="chart__bars"
          role="listbox"
          aria-orientation="horizontal"
          aria-label={`${measure === 'cost' ? 'Cost' : 'Tokens'} over time`}
          aria-activedescendant={shown === null ? undefined : `${id}-${shown}`}
          tabIndex={0}
          onKeyDown={onKeyDown}
          onFocus={() => setAt(current => current ?? lastUsed(totals.map(({ value }) => value)))}
          onBlur={() => setAt(null)}
          onPointerMove={onPointer}
          onPointerDown={onPointer}
          onPointerLeave={event => event.currentTarget !== document.activeElement && setAt(null)}
        >
          {times.map((time, i) => (
            <div
              key={time}
              id={`${id}-${i}`}
              className="chart__option"
              role="option"
              tabIndex={-1}
              aria-selected={i === shown}
            >
              {`${timeText(time, 'long')}: ${totalText(i)}`}
            </div>
          ))}
          <svg width="100%" height={HEIGHT + 24} aria-hidden="true">
            {gridLines().map(line => {
              const y = HEIGHT * (1 - line / LINES) + 8
              return <line key={line} className="chart__line" x1="0" x2="100%" y1={y} y2={y} />
            })}
            {times.map((time, i) => (
              <g key={time}>
                <rect
                  className={i === shown ? 'chart__day chart__day--shown' : 'chart__day'}
                  {...{ x: `${i * step}%`, y: 0, width: `${step}%`, height: HEIGHT + 8 }}
                />
                {stack(series, i).map(({ from, value, color }) => (
                  <rect
                    key={color}
                    className={`chart__bar chart__bar--${color}`}
                    x={`${(i + 0.18) * step}%`}
                    y={HEIGHT * (1 - (from + value) / top) + 8}
                    width={`${step * 0.64}%`}
                    height={Math.max((HEIGHT * value) / top, 1)}
                  />
                ))}
              </g>
            ))}
            {times.map((time, i) =>
              isTick(i, times.length) ? (
                <text key={time} x={`${(i + 0.5) * step}%`} y={HEIGHT + 23} textAnchor="middle">
                  {timeText(time)}
                </text>
              ) : null,
            )}
          </svg>
        </div>
        {shown === null ? null : (
          <div
            className={shown * 2 >= times.length ? 'chart__tip chart__tip--left' : 'chart__tip'}
            style={
              shown * 2 >= times.length
                ? { right: `${100 - shown * step}%` }
                : { left: `${(shown + 1) * step}%` }
            }
          >
            <p className="chart__tip-head">
              <b>{timeText(times[shown] ?? '', 'long')}</b>
              <b className="number">{totalText(shown)}</b>
            </p>
            {series.map(({ name, values, estimates }, color) =>
              (values[shown] ?? 0) > 0 ? (
                <p key={name}>
                  <Swatch color={color} />
                  <span className="truncate">{name}</span>
                  <span className="number">{text(values[shown] ?? 0, estimates[shown])}</span>
                </p>
              ) : null,
            )}
          </div>
        )}
      </div>
    </div>
  )
}

export function Swatch({ color }: { color: number }) {
  return (
    <svg width="10" height="10" aria-hidden="true">
      <rect className={`chart__bar--${color}`} width="10" height="10" rx="3" />
    </svg>
  )
}

/** The same numbers for who does not see the bars, and for who wants them all. */
export function UsageTable({ times, series, measure }: ChartProps) {
  const text = textIn(measure)
  const rows = times
    .map((time, i) => ({ time, i, total: totalAt(series, i) }))
    .filter(({ total }) => total.value > 0)
    .reverse()
  return (
    <details className="usage__details">
      <summary>As a table</summary>
      <ScrollRegion className="usage__scroll" label="Usage as a table">
        <table>
          <thead>
            <tr>
              <th scope="col">{times.length === 24 ? 'Hour' : 'Day'}</th>
              {series.map(({ name }) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
              <th scope="col">All</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ time, i, total }) => (
              <tr key={time}>
                <th scope="row">{timeText(time, 'long')}</th>
                {series.map(({ name, values, estimates }) => (
                  <td key={name}>{text(values[i] ?? 0, estimates[i])}</td>
                ))}
                <td>{text(total.value, total.isEstimate)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollRegion>
    </details>
  )
}

function textIn(measure: Measure): (value: number, isEstimate?: boolean) => string {
  return (value, isEstimate = false) =>
    measure === 'cost' ? formatCost(value, isEstimate) : formatCount(value)
}

/** Where the eye goes first: the newest bar that is one. */
function lastUsed(totals: readonly number[]): number {
  const index = totals.findLastIndex(total => total > 0)
  return index === -1 ? totals.length - 1 : index
}

function gridLines(): number[] {
  return Array.from({ length: LINES + 1 }, (_, line) => line)
}

/** From the bottom up, the largest series first. */
function stack(series: readonly Series[], i: number) {
  let from = 0
  return series.flatMap(({ values }, color) => {
    const value = values[i] ?? 0
    if (value <= 0) return []
    const part = { from, value, color }
    from += value
    return [part]
  })
}

/** About six words under the bars, so that they fit at 390 px, and never at the edges. */
function isTick(i: number, count: number): boolean {
  const every = Math.max(1, Math.ceil(count / 6))
  return i % every === Math.floor(every / 2)
}
