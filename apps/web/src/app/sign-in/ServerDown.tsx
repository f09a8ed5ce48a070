import { useEffect } from 'react'
import { whenServerUp } from '../../state/sign-in/server-up.ts'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { isLoopback, startCommands } from './start-commands.ts'
import './server-down.css'

/** In place of the browser's error page, for an installed app that starts before its server does. */
export function ServerDown({ place = location }: { place?: Pick<Location, 'hostname' | 'port' | 'origin'> }) {
  const [start, serve] = startCommands(place.port)
  return (
    <main className="server-down">
      <h1>The server does not answer</h1>
      {isLoopback(place.hostname) ? (
        <>
          <p>It is probably not running. Start it in a terminal, in the folder of Chirality:</p>
          <Command text={start} />
          <p>or, where it is installed:</p>
          <Command text={serve} />
        </>
      ) : (
        <p>It is probably not running, or this device is offline. Start it on the machine that it runs on.</p>
      )}
      <p className="server-down__note" role="status">
        {`This page looks for it at ${place.origin} and goes on by itself. What your agents did is kept on the disk.`}
      </p>
    </main>
  )
}

/** The same, for a page that has no connection yet which would come back by itself. */
export function WaitForServer({ onUp }: { onUp(): void }) {
  useEffect(() => whenServerUp(onUp), [onUp])
  return <ServerDown />
}

export function Command({ text }: { text: string }) {
  return (
    <p className="server-down__command">
      <code>{text}</code>
      <CopyButton text={text} label={`Copy ${text}`} />
    </p>
  )
}
