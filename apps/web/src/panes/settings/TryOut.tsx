import type { ReactNode } from 'react'
import { Button } from '../../ui/controls/Button.tsx'

export interface TryOutProps {
  name: string
  /** Command that runs, or the address. */
  command: string
  /** Explanation of the trial. */
  about: string
  action: 'Run it' | 'Connect'
  step: 'rest' | 'asking' | 'trying'
  onRest(): void
  onTry(): void
  /** Answer to the trial. */
  children: ReactNode
}

/** A program of the settings is shown before it runs, and then what it answered. */
export function TryOut({ name, command, about, action, step, onRest, onTry, children }: TryOutProps) {
  return (
    <>
      {step === 'asking' ? (
        <fieldset className="tool-server__ask" aria-label={`Before ${name} is tried`}>
          <p>{about}</p>
          <code className="tool-server__command">{command}</code>
          <p className="tool-server__actions">
            <Button size="small" onClick={onRest}>
              Not now
            </Button>
            <Button size="small" look="primary" onClick={onTry}>
              {action}
            </Button>
          </p>
        </fieldset>
      ) : null}
      <div className="tool-server__answer" role="status">
        {step === 'trying' ? <p>Waiting for its answer…</p> : null}
        {children}
      </div>
    </>
  )
}
