import type { KeyboardEvent, PointerEvent } from 'react'
import './splitter.css'

const STEP = 16

export interface SplitterProps {
  label: string
  value: number
  min: number
  max: number
  normal: number
  /** On which side of it the part is whose width changes. */
  side: 'left' | 'right'
  onChange(width: number): void
}

/** An edge to drag, by pointer or arrow keys; a double click gives the width of a new browser back. */
export function Splitter({ label, value, min, max, normal, side, onChange }: SplitterProps) {
  const direction = side === 'left' ? 1 : -1
  const onKeyDown = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? STEP : event.key === 'ArrowLeft' ? -STEP : 0
    if (step === 0) return
    event.preventDefault()
    onChange(value + step * direction)
  }
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0) return
    event.preventDefault()
    const edge = event.currentTarget
    const from = event.clientX
    edge.setPointerCapture(event.pointerId)
    const move = ({ clientX }: globalThis.PointerEvent) => onChange(value + (clientX - from) * direction)
    const end = () => {
      edge.removeEventListener('pointermove', move)
      edge.removeEventListener('pointerup', end)
      edge.removeEventListener('pointercancel', end)
    }
    edge.addEventListener('pointermove', move)
    edge.addEventListener('pointerup', end)
    edge.addEventListener('pointercancel', end)
  }
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot be dragged
    <div
      className={`splitter splitter--${side}`}
      role="separator"
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={value}
      aria-valuemin={min}
      aria-valuemax={max}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onDoubleClick={() => onChange(normal)}
    />
  )
}
