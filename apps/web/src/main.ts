import { Connection } from './state/connection.ts'
import { startTheme } from './state/kept/theme.ts'
import { signIn } from './state/sign-in/sign-in.ts'
import { holdKeys } from './ui/keys/type-ahead.ts'

// The script of the page is small, so that it runs while the rest, which the page names too, is still on its way: by the time
// that the rest is there, so is what it draws.
startTheme()
// Who opens the page goes on typing at once.
if (/^\/(?:$|[ps]\/)/.test(location.pathname)) holdKeys()
const result = signIn().then(result => ({
  result,
  connection: result.kind === 'signed-in' ? new Connection(result) : null,
}))
void import('./app/Start.tsx')
  .then(async ({ start }) => start(await result))
  .catch((error: unknown) => {
    const root = document.getElementById('root')
    if (root)
      root.textContent =
        'The dashboard could not be loaded. Load the page again. Your agents work on, and nothing is lost.'
    throw error
  })
