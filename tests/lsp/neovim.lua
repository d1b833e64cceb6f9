-- Run by editors.py in the folder of the programs: the recipe of the documentation shows a diagnostic, jumps, and formats.
local function check(condition, text)
  if condition then return end
  io.stderr:write(text .. "\n")
  vim.cmd("cquit 1")
end

local ok, failure = pcall(function()
  dofile(vim.env.RECIPE).setup({ cmd = { vim.env.TDSLC, "lsp" } })
  vim.cmd("edit broken.tdsl")
  check(vim.bo.filetype == "tdsl", "the file type is " .. vim.bo.filetype)
  local arrived = vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end, 20)
  check(arrived, "no diagnostic")
  local first = vim.diagnostic.get(0)[1]
  check(first.code == "missing-semicolon" and first.lnum == 1, "another diagnostic: " .. vim.inspect(first))

  vim.cmd("edit heat.tdsl")
  check(vim.wait(30000, function() return #vim.lsp.buf_get_clients(0) > 0 end, 20), "no client")
  vim.fn.cursor(vim.fn.search("u = step(u", "w"), 7)
  vim.lsp.buf.definition()
  check(vim.wait(30000, function() return vim.fn.getline("."):match("^fn step") ~= nil end, 20), "no jump to the definition")
  check(vim.fn.col(".") == 4, "the jump is to column " .. vim.fn.col("."))
end)
check(ok, tostring(failure))
vim.cmd("qall!")
