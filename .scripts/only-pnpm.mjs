// Before a package is packed. `npm pack` takes the manifest as it is, with versions that only exist in this workspace.
if (!process.env.npm_config_user_agent?.startsWith('pnpm/')) {
  process.stderr.write(
    'This package is packed by `npm run pack` in the root of the repository: npm alone would leave `workspace:` versions in it.\n',
  )
  process.exit(1)
}
