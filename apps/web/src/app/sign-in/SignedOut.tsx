import { type FormEvent, useEffect, useRef, useState } from 'react'
import { signInByLink, waitForToken } from '../../state/sign-in/sign-in.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { Words } from '../../ui/marks/Empty.tsx'
import { Command } from './ServerDown.tsx'
import { isLoopback, linkCommands } from './start-commands.ts'
import './server-down.css'

/** A browser that is not known gets in by a link. Opened in any tab of this browser it lets this one in, too. */
export function SignedOut({ message, onToken }: { message?: string; onToken(token: string): void }) {
  const [link, setLink] = useState('')
  const [refused, setRefused] = useState<string | null>(null)
  const isTrying = useRef(false)
  const [installed, start] = linkCommands(location.port)
  useEffect(() => waitForToken(onToken), [onToken])
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    // The link works once: a second try with it would be refused.
    if (isTrying.current) return
    isTrying.current = true
    const result = await signInByLink(link)
    isTrying.current = false
    if (result.kind === 'signed-in') onToken(result.token)
    else setRefused(result.kind === 'refused' ? result.message : 'The server does not answer.')
  }
  return (
    <main className="server-down">
      <h1>Open the link of the server</h1>
      <p role="status">
        <Words text={message ?? 'This browser is not signed in.'} />
      </p>
      <p>
        {`A link signs it in. In a terminal${isLoopback(location.hostname) ? '' : ' of the machine that the server runs on'} this prints one, while the agents work on:`}
      </p>
      <Command text={installed} />
      <p>or, in the folder of Chirality:</p>
      <Command text={start} />
      <p>Open the link in this browser and this page goes on, or paste it here.</p>
      <form className="link-form" onSubmit={event => void submit(event)}>
        <Field label="Link">
          {id => (
            <div className="link-form__row">
              <input
                id={id}
                className="input"
                value={link}
                autoComplete="off"
                spellCheck={false}
                placeholder={`${location.origin}/#sign-in=…`}
                onChange={event => setLink(event.target.value)}
              />
              <Button type="submit" look="primary" disabled={link.trim() === ''}>
                Sign in
              </Button>
            </div>
          )}
        </Field>
        {refused ? (
          <p className="link-form__bad" role="alert">
            <Words text={refused} />
          </p>
        ) : null}
      </form>
    </main>
  )
}
