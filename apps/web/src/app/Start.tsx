// The look of parts before that of the places that use them, which may change it.
import '../ui/controls/button.css'
import '../ui/marks/marks.css'
import '../ui/controls/field.css'
import '../ui/controls/menu.css'
import '../markdown/code-block.css'
import '../diff/diff.css'
import '../markdown/markdown.css'
import '../ansi/ansi.css'
import { StrictMode } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { withdrawAll } from '../notices/notice-board.ts'
import { Connection } from '../state/connection.ts'
import { isServerUp } from '../state/sign-in/server-up.ts'
import { comeBack, isSignInLink, keepToken, type SignIn, signIn } from '../state/sign-in/sign-in.ts'
import { dropKeys } from '../ui/keys/type-ahead.ts'
import { toasts } from '../ui/overlay/toast-store.ts'
import { FirstConnection } from './App.tsx'
import { WaitForServer } from './sign-in/ServerDown.tsx'
import { SignedOut } from './sign-in/SignedOut.tsx'
import '../styles/tokens.css'
import '../styles/base.css'

/** Draws the page, by how the sign-in went. */
export async function start(signedIn: { result: SignIn; connection: Connection | null }): Promise<void> {
  const element = document.getElementById('root')
  if (!element) return
  const root = createRoot(element)
  // A link that is pasted into the address bar of this very tab changes only the fragment: nothing is loaded.
  window.addEventListener('hashchange', () => void followLink(root))
  if (signedIn.connection) open(root, signedIn.connection)
  else await show(root, signedIn.result)
  // One that was pasted while this code was on its way: nobody listened yet.
  await followLink(root)
}

async function show(root: Root, result: SignIn): Promise<void> {
  switch (result.kind) {
    case 'signed-in':
      return open(root, new Connection(result))
    case 'refused':
      return askForLink(root, result.message)
    case 'unreachable':
      return waitForServer(root)
    case 'none':
      // A page out of the cache does not know yet whether there is a server.
      return (await isServerUp()) ? askForLink(root) : waitForServer(root)
  }
}

/** Whether the page is that of somebody who is signed in. */
let isIn = false

async function followLink(root: Root): Promise<void> {
  if (!isSignInLink(location.hash)) return
  const result = await signIn()
  if (!isIn) return show(root, result)
  // The page goes on as it is: what was written in it must not be lost.
  if (result.kind === 'unreachable')
    toasts.error('The server does not answer, so the sign-in link was not used.')
  else if (result.kind === 'signed-in' && result.refusedLink === undefined)
    toasts.info('You were signed in already. The link is used up now.')
  else toasts.info(`You are signed in already. The link was not taken: ${wordsOf(result)}`)
}

function wordsOf(result: SignIn): string {
  if (result.kind === 'refused') return result.message
  return (result.kind === 'signed-in' && result.refusedLink) || ''
}

function open(root: Root, connection: Connection): void {
  isIn = true
  registerWorker()
  void connection.refused.then(async () => {
    const result = await comeBack()
    if (result.kind === 'signed-in') {
      keepToken(result.token)
      return open(root, new Connection(result))
    }
    void withdrawAll()
    askForLink(root, result.kind === 'refused' ? result.message : STARTED_ANEW)
  })
  root.render(
    <StrictMode>
      <FirstConnection key={connection.token} connection={connection} />
    </StrictMode>,
  )
}

const STARTED_ANEW = 'The server was started anew, and this browser keeps no key to sign in with by itself.'

function askForLink(root: Root, message?: string): void {
  isIn = false
  dropKeys()
  root.render(
    <SignedOut
      {...(message ? { message } : {})}
      onToken={token => open(root, new Connection({ token, isFresh: false }))}
    />,
  )
}

function waitForServer(root: Root): void {
  isIn = false
  dropKeys()
  root.render(<WaitForServer onUp={() => void signIn().then(result => show(root, result))} />)
}

/** Only in what was built: `vite dev` has no such file, and wants no cache. */
function registerWorker(): void {
  if (!import.meta.env.PROD || !('serviceWorker' in navigator)) return
  // Without one, as in some private windows, all works but starting without a server and notifications.
  const register = () =>
    void navigator.serviceWorker.register('/sw.js', { updateViaCache: 'none' }).catch(() => undefined)
  // What the page itself needs comes first.
  if ('requestIdleCallback' in window) requestIdleCallback(register, { timeout: MAX_WAIT_MS })
  else setTimeout(register, MAX_WAIT_MS)
}

const MAX_WAIT_MS = 2000
