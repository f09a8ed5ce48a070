import { StrictMode } from 'react'
import { createRoot, type Root } from 'react-dom/client'
import { App } from './app/App.tsx'
import { SignedOut } from './app/SignedOut.tsx'
import { forgetToken, shareToken, signIn } from './state/sign-in.ts'
import { createTrpcApi } from './state/trpc-api.ts'
import './styles/tokens.css'
import './styles/base.css'

const element = document.getElementById('root')
if (element) void start(createRoot(element))

async function start(root: Root): Promise<void> {
  const result = await signIn().catch(() => ({
    kind: 'refused' as const,
    message: 'The server does not answer.',
  }))
  if (result.kind !== 'signed-in') {
    root.render(<SignedOut {...(result.kind === 'refused' ? { message: result.message } : {})} />)
    return
  }
  shareToken(result.token)
  const url = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/trpc`
  const onRefused = () => {
    forgetToken()
    root.render(<SignedOut message="The server was started anew." />)
  }
  const api = createTrpcApi(result.token, { url, onRefused })
  root.render(
    <StrictMode>
      <App api={api} />
    </StrictMode>,
  )
}
