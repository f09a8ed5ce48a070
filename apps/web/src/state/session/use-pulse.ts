import { useEffect, useEffectEvent, useRef } from 'react'
import { Pulse, type PulseOptions } from './pulse.ts'

/** A pulse that rests while the page is hidden. */
export function startPulse(options: PulseOptions): { pulse: Pulse; stop(): void } {
  const pulse = new Pulse({ isSeen: () => !document.hidden, ...options })
  const onVisible = () => pulse.see()
  document.addEventListener('visibilitychange', onVisible)
  return {
    pulse,
    stop: () => {
      document.removeEventListener('visibilitychange', onVisible)
      pulse.stop()
    },
  }
}

/** Reads again when `change` is another one. What is there at first was read already. */
export function usePulse(change: unknown, read: () => Promise<unknown>): void {
  const onRead = useEffectEvent(read)
  const current = useRef<Pulse | null>(null)
  const seen = useRef(change)
  useEffect(() => {
    const { pulse, stop } = startPulse({ read: () => onRead(), atOnce: false })
    current.current = pulse
    return stop
  }, [])
  useEffect(() => {
    if (seen.current === change) return
    seen.current = change
    current.current?.wake()
  }, [change])
}
