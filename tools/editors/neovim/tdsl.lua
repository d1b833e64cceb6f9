-- TDSL in Neovim (0.7 and later): copy this file to ~/.config/nvim/lua/tdsl.lua, and write in init.lua
--
--   require("tdsl").setup({})                                                    -- tdslc is in PATH
--   require("tdsl").setup({ plan = { ranks = 64, set = { n = 100000 } } })       -- and costs at the ends of lines (0.10 and later)
local M = {}

local function attach(client, buffer, options)
  vim.api.nvim_buf_set_option(buffer, "omnifunc", "v:lua.vim.lsp.omnifunc")
  vim.keymap.set("n", "K", vim.lsp.buf.hover, { buffer = buffer })
  vim.keymap.set("n", "gd", vim.lsp.buf.definition, { buffer = buffer })
  vim.keymap.set("n", "gr", vim.lsp.buf.references, { buffer = buffer })
  if vim.lsp.inlay_hint and vim.lsp.inlay_hint.enable then vim.lsp.inlay_hint.enable(true) end
  if options.on_attach then options.on_attach(client, buffer) end
end

function M.setup(options)
  vim.api.nvim_create_autocmd({ "BufRead", "BufNewFile" }, { pattern = "*.tdsl", command = "set filetype=tdsl" })
  local config = {
    name = "tdsl",
    cmd = options.cmd or { "tdslc", "lsp" },
    init_options = { plan = options.plan },
    on_attach = function(client, buffer) attach(client, buffer, options) end,
  }
  local id
  local function start()
    config.root_dir = config.root_dir or vim.fn.expand("%:p:h")
    if vim.lsp.start then
      vim.lsp.start(config)
    else
      id = id or vim.lsp.start_client(config)
      vim.lsp.buf_attach_client(0, id)
    end
  end
  vim.api.nvim_create_autocmd("FileType", { pattern = "tdsl", callback = start })
end

return M
